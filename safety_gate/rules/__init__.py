"""The rules, one file each. A file named `sgNNN_slug.py` here is a rule; nothing else registers it."""
