"""The page around the panels: its layout, its settings in the URL, colors, icons, and its scripts as sent."""
