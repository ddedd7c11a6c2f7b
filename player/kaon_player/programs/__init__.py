"""Programs compiled for a mesh."""
