// Package holdpoint claims remote effects over HTTP, with the standard library alone.
package holdpoint

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"unicode/utf16"
)

// Canonical returns the RFC 8785 text of a JSON document.
func Canonical(document []byte) (string, error) {
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return "", err
	}
	var text strings.Builder
	if err := write(&text, value); err != nil {
		return "", err
	}
	return text.String(), nil
}

func write(text *strings.Builder, value any) error {
	switch v := value.(type) {
	case nil:
		text.WriteString("null")
	case bool:
		text.WriteString(strconv.FormatBool(v))
	case json.Number:
		number, err := v.Float64()
		if err != nil {
			return err
		}
		text.WriteString(numberText(number))
	case string:
		writeString(text, v)
	case []any:
		text.WriteByte('[')
		for i, each := range v {
			if i > 0 {
				text.WriteByte(',')
			}
			if err := write(text, each); err != nil {
				return err
			}
		}
		text.WriteByte(']')
	case map[string]any:
		keys := make([]string, 0, len(v))
		for key := range v {
			keys = append(keys, key)
		}
		sort.Slice(keys, func(i, j int) bool { return unitsLess(keys[i], keys[j]) })
		text.WriteByte('{')
		for i, key := range keys {
			if i > 0 {
				text.WriteByte(',')
			}
			writeString(text, key)
			text.WriteByte(':')
			if err := write(text, v[key]); err != nil {
				return err
			}
		}
		text.WriteByte('}')
	default:
		return fmt.Errorf("not a JSON value: %T", value)
	}
	return nil
}

// The order of RFC 8785 is that of UTF-16 code units.
func unitsLess(one, other string) bool {
	a, b := utf16.Encode([]rune(one)), utf16.Encode([]rune(other))
	for i := 0; i < len(a) && i < len(b); i++ {
		if a[i] != b[i] {
			return a[i] < b[i]
		}
	}
	return len(a) < len(b)
}

func numberText(number float64) string {
	if number == 0 {
		return "0"
	}
	if abs := math.Abs(number); abs >= 1e-6 && abs < 1e21 {
		return strconv.FormatFloat(number, 'f', -1, 64)
	}
	text := strconv.FormatFloat(number, 'e', -1, 64)
	mantissa, exponent, _ := strings.Cut(text, "e")
	return mantissa + "e" + exponent[:1] + strings.TrimLeft(exponent[1:], "0")
}

var escapes = map[rune]string{'"': `\"`, '\\': `\\`, '\b': `\b`, '\f': `\f`, '\n': `\n`, '\r': `\r`, '\t': `\t`}

func writeString(text *strings.Builder, value string) {
	text.WriteByte('"')
	for _, char := range value {
		if escaped, ok := escapes[char]; ok {
			text.WriteString(escaped)
		} else if char < 0x20 {
			fmt.Fprintf(text, `\u%04x`, char)
		} else {
			text.WriteRune(char)
		}
	}
	text.WriteByte('"')
}

func sha256Hex(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

const alphabet = "0123456789abcdefghjkmnpqrstvwxyz"

var (
	uuid7 = regexp.MustCompile(`(?i)^([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`)
	timed = regexp.MustCompile("^[aet]-([" + alphabet + "]{7})[" + alphabet + "]{10}$")
)

const tickMillis = 128

// EffectID is the permanent id of an effect. It begins with the time of its task, if that has one.
// Lengths count UTF-16 code units.
func EffectID(task, node, key string) string {
	var text strings.Builder
	for _, part := range []string{task, node, key} {
		fmt.Fprintf(&text, "%d:%s", len(utf16.Encode([]rune(part))), part)
	}
	sum := sha256.Sum256([]byte(text.String()))
	id, length := "e-", 16
	if time := timeIn(task); time != "" {
		id, length = id+time, 10
	}
	for _, each := range sum[:length] {
		id += string(alphabet[each&31])
	}
	return id
}

// timeIn returns the time that a UUID of version 7 or an id of a task begins with, or "".
func timeIn(task string) string {
	if found := timed.FindStringSubmatch(task); found != nil {
		return found[1]
	}
	found := uuid7.FindStringSubmatch(task)
	if found == nil {
		return ""
	}
	// The pattern allows only hexadecimal digits.
	millis, _ := strconv.ParseUint(found[1]+found[2], 16, 64)
	ticks := millis / tickMillis
	var text string
	for shift := 30; shift >= 0; shift -= 5 {
		text += string(alphabet[ticks>>shift&31])
	}
	return text
}
