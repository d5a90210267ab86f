


aSplit

bIdentitya:second