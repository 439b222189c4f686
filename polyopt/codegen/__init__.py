"""From a plan to C for people and compilers."""
