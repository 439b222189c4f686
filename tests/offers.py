"""Memory as other libraries offer it."""


class Offered:
    """Memory that is offered by NumPy's array interface alone."""

    def __init__(self, array):
        self.__array_interface__ = array.__array_interface__
        self.array = array


class Exported:
    """Memory that is offered by DLPack alone."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()
