/** A shorter secret could not be hidden without hiding ordinary words. */
export const SECRET_CHARACTERS_MIN = 8;

/**
 * The three base64 encodings of a secret inside a longer text such as `user:secret`: one for each offset in a group
 * of three bytes. Characters that also depend on the neighbours, and padding, are left out.
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
 * All encodings in which a secret is searched: plain, for URLs, base64, JSON, and each of its lines. Longest first,
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
