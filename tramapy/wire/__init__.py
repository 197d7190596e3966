"""What every vendor's HTTP format has in common: event streams, JSON without trust, refusals, the HTTP library."""
