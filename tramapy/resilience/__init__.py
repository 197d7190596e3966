"""Circuit breaker, retry policy and token budget: pure mechanisms with an injected clock."""
