"""The store: the one folder that speaks to Qdrant. ``WriteStore`` is the recorder's view, ``ReadStore`` recall's."""
