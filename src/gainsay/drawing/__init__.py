"""What everything that is looked at is drawn with: colours, and small tables as HTML. No idea of ranking."""
