package holdpoint

import (
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"regexp"
	"strings"
)

// Order is an effect with its grant.
type Order struct {
	ID       string          `json:"id"`
	Effect   json.RawMessage `json:"effect"`
	Digest   string          `json:"digest"`
	Grant    string          `json:"grant"`
	Approval string          `json:"approval"`
}

// Claimed is an order in the hands of this program.
type Claimed struct {
	Kind      string `json:"kind"`
	Order     Order  `json:"order"`
	Epoch     int    `json:"epoch"`
	LeaseMs   int    `json:"leaseMs"`
	Statement string `json:"statement"`
}

// Effect is what was approved.
type Effect struct {
	Task string         `json:"task"`
	Node string         `json:"node"`
	Uses string         `json:"uses"`
	Kind string         `json:"kind"`
	Key  string         `json:"idempotencyKey"`
	Args map[string]any `json:"args"`
}

type claims struct {
	Use    string `json:"use"`
	ID     string `json:"jti"`
	Effect string `json:"sub"`
	Digest string `json:"digest"`
	Epoch  int    `json:"epoch"`
	Answer string `json:"answer"`
	Expiry int64  `json:"exp"`
}

// Keys are the public keys of approvals by their ids.
type Keys map[string]ed25519.PublicKey

// Add adds a key in PEM.
func (keys Keys) Add(text string) error {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return errors.New("no public key in PEM")
	}
	parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return err
	}
	key, ok := parsed.(ed25519.PublicKey)
	if !ok {
		return errors.New("not an Ed25519 key")
	}
	sum := sha256.Sum256(block.Bytes)
	keys[base64.RawURLEncoding.EncodeToString(sum[:])[:16]] = key
	return nil
}

func (keys Keys) claimsIn(token string) *claims {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return nil
	}
	var header struct{ Alg, Kid string }
	var said claims
	signature, err := base64.RawURLEncoding.Strict().DecodeString(parts[2])
	if err != nil || !decode(parts[0], &header) || !decode(parts[1], &said) || header.Alg != "EdDSA" {
		return nil
	}
	key, known := keys[header.Kid]
	if !known || !ed25519.Verify(key, []byte(parts[0]+"."+parts[1]), signature) {
		return nil
	}
	return &said
}

func decode(part string, into any) bool {
	text, err := base64.RawURLEncoding.DecodeString(part)
	return err == nil && json.Unmarshal(text, into) == nil
}

var remote = regexp.MustCompile(`^cap\.remote\.[a-z0-9_]{1,64}(\.preview|\.compensate)?$`)

const toleranceMs = 60_000

// CheckGrant returns the code of the reason why an order must not be carried out, or an empty text. It trusts nothing in the
// order: digest and id are computed from the effect.
func CheckGrant(claimed Claimed, keys Keys, nowMs int64) string {
	order := claimed.Order
	var effect Effect
	canonical, err := Canonical(order.Effect)
	if err != nil || json.Unmarshal(order.Effect, &effect) != nil || !remote.MatchString(effect.Uses) {
		return "EXECUTOR_GRANT_INVALID"
	}
	isWork := effect.Kind == "work"
	isPreview := isWork && strings.HasSuffix(effect.Uses, ".preview")
	grant := &claims{Digest: order.Digest, Effect: order.ID, ID: order.Approval}
	if order.Grant == "" {
		if !isPreview {
			return "EXECUTOR_GRANT_INVALID"
		}
	} else if grant = keys.claimsIn(order.Grant); grant == nil || isWork || (grant.Use != "" && grant.Use != "grant") {
		return "EXECUTOR_GRANT_INVALID"
	}
	if sha256Hex(canonical) != order.Digest || grant.Digest != order.Digest {
		return "EXECUTOR_DIGEST_MISMATCH"
	}
	if EffectID(effect.Task, effect.Node, effect.Key) != order.ID || grant.Effect != order.ID {
		return "EXECUTOR_GRANT_MISMATCH"
	}
	if order.Approval != "" && grant.ID != order.Approval {
		return "EXECUTOR_GRANT_MISMATCH"
	}
	over := func(expiry int64) bool { return nowMs >= expiry*1000+toleranceMs }
	// A probe and a preview change nothing.
	if order.Grant == "" || claimed.Kind == "probe" || !over(grant.Expiry) {
		return ""
	}
	answer := keys.claimsIn(claimed.Statement)
	if answer != nil && answer.Use == "answer" && answer.Answer == "retry" && answer.Effect == order.ID &&
		answer.Digest == order.Digest && answer.Epoch == claimed.Epoch-1 && !over(answer.Expiry) {
		return ""
	}
	return "EXECUTOR_GRANT_EXPIRED"
}
