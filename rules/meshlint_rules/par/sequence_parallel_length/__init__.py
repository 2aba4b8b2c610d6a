"""PAR006: a sequence that tensor parallel ranks cannot split."""
