/** One server-sent event. */
export type ServerEvent = { readonly type: string; readonly data: string; readonly id: string | undefined };

/** Limit for a line. */
const BUFFER_MAX = 4_194_304;

/**
 * Parses server-sent events from chunks. Throws `RangeError` for an oversized event. An ID applies to later events
 * until another one arrives, as the standard demands.
 */
export const createEventReader = (): ((chunk: string) => readonly ServerEvent[]) => {
  let [buffer, type, id] = ['', 'message', undefined as string | undefined];
  let data: string[] = [];
  const line = (text: string): ServerEvent | undefined => {
    if (text === '') {
      const event = data.length === 0 ? undefined : { type, data: data.join('\n'), id };
      [type, data] = ['message', []];
      return event;
    }
    if (text.startsWith(':')) return undefined;
    const colon = text.indexOf(':');
    const field = colon < 0 ? text : text.slice(0, colon);
    const value = colon < 0 ? '' : text.slice(colon + 1).replace(/^ /, '');
    if (field === 'data') data.push(value);
    else if (field === 'event') type = value;
    else if (field === 'id') id = value;
    return undefined;
  };
  return (chunk) => {
    buffer += chunk;
    if (buffer.length > BUFFER_MAX) throw new RangeError('event too large');
    const lines = buffer.split(/\r\n|\n|\r(?!$)/);
    buffer = lines.pop() ?? '';
    return lines.flatMap((text) => line(text) ?? []);
  };
};
