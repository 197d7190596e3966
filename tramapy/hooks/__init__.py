"""What users implement: one file a surface."""
