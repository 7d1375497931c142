package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// digest writes the SHA-256 of one file to another, which appears complete or not at all. A second
// call changes nothing: a key may be handed out once more after a crash.
func digest(from, to string) error {
	file, err := os.Open(from)
	if err != nil {
		return err
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	temporary := to + ".new"
	if err := os.WriteFile(temporary, []byte(fmt.Sprintf("%x\n", sum.Sum(nil))), 0o644); err != nil {
		return err
	}
	return os.Rename(temporary, to)
}
