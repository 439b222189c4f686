"""What is true of a program: facts that hold for every size, with witnesses where they fail.

``dependences``  who reads what whom wrote, exactly; ``distance`` shows it
``bounds``       every access inside its array, every read after a write
``parallelism``  which source loops carry nothing, which can be exchanged
``footprint``    what a tile touches, what it needs from outside, boxes around it
``interpret``    the slow oracle, on ``evaluate`` (typed semantics) and ``points``
"""
