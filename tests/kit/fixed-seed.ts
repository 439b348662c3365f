import fc from 'fast-check';

/** A gate must not depend on chance: properties get the same inputs in every run. `npm run prove` brings fresh seeds. */
fc.configureGlobal({ seed: Number(process.env['HOLDPOINT_FUZZ_SEED'] ?? 1) });
