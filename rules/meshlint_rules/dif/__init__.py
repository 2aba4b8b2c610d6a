"""Changes: what a diff brings, judged with both of its sides."""
