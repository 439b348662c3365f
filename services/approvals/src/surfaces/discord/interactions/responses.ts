import { formPart, type FormText } from '../messages/form-part.ts';
import { COMMENT } from './interaction.ts';
import { type Message, NO_MENTIONS } from '../messages/message.ts';

/** Discord's format of a reply to an interaction. */
export type Answer = { readonly type: number; readonly data?: object };

const [PONG, REPLY, UPDATE, MODAL] = [1, 4, 7, 9];
const EPHEMERAL = 64;

export const pong: Answer = { type: PONG };

/** A reply that only this user sees. `text` is Discord markup. */
export const whisper = (text: string): Answer => ({
  type: REPLY,
  data: { content: text, flags: EPHEMERAL, allowed_mentions: NO_MENTIONS },
});

/** Replaces the message with the pressed button. */
export const update = (message: Message): Answer => ({ type: UPDATE, data: message });

/** A form with text fields. `title` is plain text of at most 45 characters. */
export const form = (customId: string, title: string, texts: readonly FormText[]): Answer => ({
  type: MODAL,
  data: { custom_id: customId, title, components: texts.map(formPart) },
});

export const commentForm = (customId: string, title: string, label: string): Answer =>
  form(customId, title, [{ name: COMMENT, label, required: true, multiline: true }]);
