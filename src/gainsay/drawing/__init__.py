"""What everything that is looked at is drawn with: colours, marks, curves, tables. No idea of ranking."""
