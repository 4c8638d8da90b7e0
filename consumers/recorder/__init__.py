"""The recorder: the only writer of the store. It folds the turn log into points and announces every outcome."""
