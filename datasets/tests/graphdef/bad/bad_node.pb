

ab

(ab