"""Running a rule over its fixtures, for this project and for writers of rule packs."""
