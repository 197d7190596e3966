"""Middleware between Python code and an LLM."""
