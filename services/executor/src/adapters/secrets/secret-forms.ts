/** Shorter ones would take ordinary words along, so they cannot be hidden. */
export const SECRET_CHARACTERS_MIN = 8;

/**
 * A secret in base64 wherever it stands in what was encoded, as in `user:secret`: three bytes become four characters, so there
 * are three ways. Characters at the ends that also depend on what stands beside it are left out, and with them what only fills up.
 */
const base64Forms = (bytes: Buffer): readonly string[] =>
  [0, 1, 2].flatMap((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
    const first = Math.ceil((before * 8) / 6);
    const last = Math.floor(((before + bytes.length) * 8) / 6);
    const inner = text.slice(first, last);
    return [inner, inner.replaceAll('+', '-').replaceAll('/', '_')];
  });

const percentEncoded = (text: string): readonly string[] => {
  if (!text.isWellFormed()) return [];
  const encoded = encodeURIComponent(text);
  const form = new URLSearchParams({ v: text }).toString().slice('v='.length);
  const lower = (escaped: string): string => escaped.replaceAll(/%[0-9A-F]{2}/g, (hex) => hex.toLowerCase());
  return [encoded, form, lower(encoded), lower(form)];
};

const formsOfText = (text: string): readonly string[] => [
  text,
  ...percentEncoded(text),
  ...base64Forms(Buffer.from(text)),
  JSON.stringify(text).slice(1, -1),
];

/**
 * All that a secret is looked for as: as it is, encoded for URLs, in base64, as in JSON; and so is each line of it. Longest first,
 * so that no form hides only a part of another.
 */
export const secretForms = (secret: string): readonly string[] => {
  const lines = secret.split(/\r?\n/).map((line) => line.trim());
  const texts = [secret, ...(lines.length > 1 ? lines : [])].filter(
    ({ length }) => length >= SECRET_CHARACTERS_MIN,
  );
  const forms = new Set(texts.flatMap(formsOfText).filter(({ length }) => length >= SECRET_CHARACTERS_MIN));
  return [...forms].sort((one, other) => other.length - one.length);
};
