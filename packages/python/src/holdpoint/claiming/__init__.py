"""The claiming side: programs that carry out approved effects."""
