"""`tramapy redact`: text in, sanitized text out."""
