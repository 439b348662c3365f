module example.com/holdpoint-claimant

go 1.22
