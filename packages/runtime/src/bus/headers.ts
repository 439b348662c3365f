import type { MsgHdrs } from '@nats-io/transport-node';
import type { HeaderPairs } from '@holdpoint/contracts/bus/cloudevents';

// Forbidden in values: a line end would start another header. Names are constants.
const UNSAFE = /[\r\n\0]/;

/**
 * Encoded headers. The client's own object validates and sorts every name for each message, which costs more
 * than the rest of publishing; when sending, it calls only `encode`. Throws `TypeError` on a value with a line
 * end.
 */
export const wireHeaders = (pairs: HeaderPairs): MsgHdrs => {
  let text = 'NATS/1.0\r\n';
  for (const [name, value] of pairs) {
    if (UNSAFE.test(value)) throw new TypeError(`the header ${name} may not hold a line end`);
    text += `${name}: ${value}\r\n`;
  }
  const encoded = Buffer.from(`${text}\r\n`);
  return { encode: () => encoded } as unknown as MsgHdrs;
};
