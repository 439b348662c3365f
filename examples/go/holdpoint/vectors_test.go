package holdpoint

import (
	"encoding/json"
	"os"
	"testing"
)

type vectors struct {
	Canonical []struct {
		Value  json.RawMessage
		Text   string
		Sha256 string
	}
	Effects []struct {
		Effect json.RawMessage
		Digest string
		ID     string
	}
	Keys   []struct{ PublicKey string }
	Grants []struct {
		Name    string
		Claimed Claimed
		Now     int64
		Code    string
	}
}

func read(t *testing.T) vectors {
	text, err := os.ReadFile("../../../packages/contracts/vectors/remote-effects.json")
	if err != nil {
		t.Fatal(err)
	}
	var all vectors
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	if len(all.Grants) == 0 || len(all.Canonical) == 0 || len(all.Effects) == 0 {
		t.Fatal("no vectors")
	}
	return all
}

func TestCanonicalTexts(t *testing.T) {
	for _, each := range read(t).Canonical {
		text, err := Canonical(each.Value)
		if err != nil || text != each.Text || sha256Hex(text) != each.Sha256 {
			t.Errorf("%s: %s, %v", each.Text, text, err)
		}
	}
}

func TestEffectIDs(t *testing.T) {
	for _, each := range read(t).Effects {
		var effect Effect
		if err := json.Unmarshal(each.Effect, &effect); err != nil {
			t.Fatal(err)
		}
		if id := EffectID(effect.Task, effect.Node, effect.Key); id != each.ID {
			t.Errorf("%s, not %s", id, each.ID)
		}
	}
}

func TestGrants(t *testing.T) {
	all := read(t)
	keys := Keys{}
	for _, key := range all.Keys {
		if err := keys.Add(key.PublicKey); err != nil {
			t.Fatal(err)
		}
	}
	for _, each := range all.Grants {
		if code := CheckGrant(each.Claimed, keys, each.Now); code != each.Code {
			t.Errorf("%s: %q, not %q", each.Name, code, each.Code)
		}
	}
}
