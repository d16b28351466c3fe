package main

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
)

const (
	leastToken = 16   // bytes: no token that can be guessed
	mostToken  = 1024 // bytes, so that it fits into a request's head
)

// tokenFile takes a file with a token in it; the blanks around it don't count.
func tokenFile(field *string) func(string) error {
	return func(path string) error {
		*field = ""
		if path == "" {
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("must be a file with a token: %w", err)
		}
		token := bytes.TrimSpace(content)
		if len(token) < leastToken || len(token) > mostToken {
			return fmt.Errorf("must be a file with a token of %d to %d bytes; its token has %d", leastToken, mostToken, len(token))
		}
		for _, c := range token {
			if c <= ' ' || c > '~' {
				return errors.New("must be a file with a token of visible ASCII characters, without blanks between them")
			}
		}
		*field = string(token)
		return nil
	}
}

// originOrAll takes an origin such as https://host:port, "*" or nothing.
func originOrAll(field *string) func(string) error {
	return func(text string) error {
		if text != "" && text != "*" {
			u, err := url.Parse(text)
			if err != nil || u.Scheme == "" || u.Host == "" || u.Scheme+"://"+u.Host != text {
				return errors.New("must be an origin such as https://host:port, * for all, or empty")
			}
		}
		*field = text
		return nil
	}
}

// httpURL takes an address such as http://host:4318/v1/traces, or nothing.
func httpURL(field *string) func(string) error {
	return func(text string) error {
		if text != "" {
			u, err := url.Parse(text)
			if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
				return errors.New("must be a URL such as http://127.0.0.1:4318/v1/traces, or empty")
			}
		}
		*field = text
		return nil
	}
}

// isLoopback reports whether a checked host:port is reached from this machine alone.
func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		panic("BUG: unchecked address: " + address)
	}
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}
