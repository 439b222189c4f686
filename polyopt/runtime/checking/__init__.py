"""Checks of new C that go on in another process, while the kernel runs already."""
