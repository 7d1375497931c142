module example.org/wq

go 1.19
