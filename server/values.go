package main

import (
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"darboux/handlers/graphite"
	"darboux/handlers/index"
	"darboux/handlers/riemann"
)

// The functions of this file make the parsers of the settings table. A parser's
// error is what stands after the flag and its value: "must be ...".

// size takes bytes, with or without a unit: 4096, 64KiB, 10MB.
func size(field *int64, least, most int64) func(string) error {
	return func(text string) error {
		n, err := humanize.ParseBytes(text)
		if err != nil || n < uint64(least) || n > uint64(most) {
			return fmt.Errorf("must be a size such as 64KiB, from %s to %s", sizeText(least), sizeText(most))
		}
		*field = int64(n)
		return nil
	}
}

// sizeText writes n bytes exactly, in the largest binary unit that divides it.
func sizeText(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	u := 0
	for n != 0 && n%1024 == 0 && u < len(units)-1 {
		n, u = n/1024, u+1
	}
	return strconv.FormatInt(n, 10) + units[u]
}

func wholeNumber(field *int, least, most int) func(string) error {
	return func(text string) error {
		n, err := strconv.Atoi(text)
		if err != nil || n < least || n > most {
			return fmt.Errorf("must be a whole number from %d to %d", least, most)
		}
		*field = n
		return nil
	}
}

func powerOfTwo(field *int, least, most int) func(string) error {
	number := wholeNumber(field, least, most)
	return func(text string) error {
		if err := number(text); err != nil {
			return fmt.Errorf("%w, a power of two", err)
		}
		if *field&(*field-1) != 0 {
			return fmt.Errorf("must be a power of two from %d to %d", least, most)
		}
		return nil
	}
}

// autoOr takes the word auto, or what parse takes.
func autoOr[N int | int64](field *N, parse func(string) error) func(string) error {
	return func(text string) error {
		if text == "auto" {
			*field = auto
			return nil
		}
		if err := parse(text); err != nil {
			return fmt.Errorf("%w, or auto", err)
		}
		return nil
	}
}

func duration(field *time.Duration, least, most time.Duration) func(string) error {
	return func(text string) error {
		d, err := time.ParseDuration(text)
		if err != nil || d < least || d > most {
			return fmt.Errorf("must be a duration such as 1m30s, from %s to %s", least, most)
		}
		*field = d
		return nil
	}
}

func wholeSeconds(field *time.Duration, least, most time.Duration) func(string) error {
	parse := duration(field, least, most)
	return func(text string) error {
		if err := parse(text); err != nil || *field%time.Second != 0 {
			return fmt.Errorf("must be a duration of whole seconds, from %s to %s", least, most)
		}
		return nil
	}
}

// zeroOr takes 0, which turns the thing off, or what parse takes.
func zeroOr(field *time.Duration, parse func(string) error) func(string) error {
	return func(text string) error {
		if text == "0" {
			*field = 0
			return nil
		}
		if err := parse(text); err != nil {
			return fmt.Errorf("%w, or 0", err)
		}
		return nil
	}
}

func oneOf(field *string, words ...string) func(string) error {
	return func(text string) error {
		if !slices.Contains(words, text) {
			return errors.New("must be " + strings.Join(words, " or "))
		}
		*field = text
		return nil
	}
}

// listed are the elements of a list with commas between them, but for empty ones.
func listed(text string) []string {
	var all []string
	for one := range strings.SplitSeq(text, ",") {
		if one = strings.TrimSpace(one); one != "" {
			all = append(all, one)
		}
	}
	return all
}

// addresses takes any number of host:port, with commas between them.
func addresses(field *[]string) func(string) error {
	return func(text string) error {
		*field = nil
		for _, address := range listed(text) {
			if err := checkAddress(address); err != nil {
				return err
			}
			*field = append(*field, address)
		}
		return nil
	}
}

func checkAddress(address string) error {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("must be host:port with commas between several; %q is not", address)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > math.MaxUint16 {
		return fmt.Errorf("must be host:port; the port of %q is not a number from 0 to %d", address, math.MaxUint16)
	}
	return nil
}

// templates takes any number of Graphite templates, with commas between them.
func templates(field **graphite.Templates) func(string) error {
	return func(text string) error {
		t, err := graphite.ParseTemplates(listed(text))
		*field = t
		return err
	}
}

// keptFields takes what the notice of an expiry keeps, with commas between the words.
func keptFields(field *riemann.Fields) func(string) error {
	return func(text string) error {
		kept, err := index.ParseKeep(listed(text))
		*field = kept
		return err
	}
}

func anyText(field *string) func(string) error {
	return func(text string) error {
		*field = text
		return nil
	}
}

func yesOrNo(field *bool) func(string) error {
	return func(text string) error {
		b, err := strconv.ParseBool(text)
		if err != nil {
			return errors.New("must be true or false")
		}
		*field = b
		return nil
	}
}
