"""DIF003: a change that raises cp over data packed for less."""
