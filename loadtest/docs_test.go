package main

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"darboux/loadtest/result"
)

// Every name of the JSON is explained in docs/BENCHMARKS.md, every scenario and
// every outcome too.
func TestTheSchemaIsDocumented(t *testing.T) {
	text, err := os.ReadFile("../docs/BENCHMARKS.md")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	jsonNames(reflect.TypeFor[result.Document](), names)
	for _, s := range scenarios {
		names[s.name] = true
	}
	if len(names) < 150 {
		t.Fatalf("only %d names found", len(names))
	}
	for name := range names {
		if !strings.Contains(string(text), "`"+name+"`") {
			t.Errorf("`%s` is not explained", name)
		}
	}
	if !strings.Contains(string(text), "`"+result.Schema+"`") {
		t.Errorf("schema %s is not named", result.Schema)
	}
}

// jsonNames collects the names of a struct's fields and of what they hold.
func jsonNames(t reflect.Type, names map[string]bool) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		jsonNames(t.Elem(), names)
	case reflect.Struct:
		for i := range t.NumField() {
			if name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); name != "" {
				names[name] = true
				jsonNames(t.Field(i).Type, names)
			}
		}
	}
}
