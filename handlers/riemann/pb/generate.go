// Package pb holds the types generated from riemann.proto. They serve cold
// paths and tests; requests are read through the views of package riemann.
package pb

//go:generate sh -c "protoc --plugin=protoc-gen-go=\"$(go tool -n protoc-gen-go)\" --go_out=. --go_opt=paths=source_relative riemann.proto"
