"""Rule-based inspection of text."""
