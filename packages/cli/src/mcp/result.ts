import { HoldpointError } from '@holdpoint/contracts/values/errors';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';

/** A tool result, as text and as structured content. */
const given = (value: object): CallToolResult => ({
  content: [{ type: 'text', text: JSON.stringify(value, undefined, 1) }],
  structuredContent: value as Record<string, unknown>,
});

/** Returns a refusal as a result with its code. */
export const answering = async (work: () => Promise<object>): Promise<CallToolResult> => {
  try {
    return given(await work());
  } catch (error) {
    if (!(error instanceof HoldpointError)) throw error;
    const { code, message, details } = error;
    const body = { code, message, ...(details && { details }) };
    return { ...given({ error: body }), isError: true };
  }
};
