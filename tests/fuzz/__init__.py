"""Coverage-guided fuzzing of everything that reads files: one harness per reader, one oracle for all."""
