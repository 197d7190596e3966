"""What vendors' HTTP formats say and have in common: events, JSON without trust, words, the HTTP library."""
