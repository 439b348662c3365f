// Claims the effects of one capability, and carries out one of them.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"example.com/holdpoint-claimant/holdpoint"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	claimant := holdpoint.Claimant{
		URL:   os.Getenv("HOLDPOINT_URL"),
		Token: os.Getenv("HOLDPOINT_TOKEN"),
		Name:  "go example",
		Runs: map[string]holdpoint.Run{
			"cap.remote.greet": func(_ context.Context, effect holdpoint.Effect, _ int) (map[string]any, error) {
				name, ok := effect.Args["name"].(string)
				if !ok || name == "" {
					return nil, &holdpoint.NothingHappened{Code: "NO_NAME", Message: "a greeting needs a name"}
				}
				return map[string]any{"text": "Good morning, " + name}, nil
			},
		},
	}
	if err := claimant.Work(ctx, 1); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
