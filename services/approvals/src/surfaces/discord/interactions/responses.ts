import { formPart, type FormText } from '../messages/form-part.ts';
import { COMMENT } from './interaction.ts';
import { type Message, NO_MENTIONS } from '../messages/message.ts';

/** What an interaction is answered with, as Discord has it. */
export type Answer = { readonly type: number; readonly data?: object };

const [PONG, REPLY, UPDATE, MODAL] = [1, 4, 7, 9];
const EPHEMERAL = 64;

export const pong: Answer = { type: PONG };

/** Only whoever pressed sees it. `text` is Discord's markup. */
export const whisper = (text: string): Answer => ({
  type: REPLY,
  data: { content: text, flags: EPHEMERAL, allowed_mentions: NO_MENTIONS },
});

/** The message that was pressed on becomes this one. */
export const update = (message: Message): Answer => ({ type: UPDATE, data: message });

/** A form with texts to fill in. `title` is plain: 45 characters at the most. */
export const form = (customId: string, title: string, texts: readonly FormText[]): Answer => ({
  type: MODAL,
  data: { custom_id: customId, title, components: texts.map(formPart) },
});

/** The form that asks for a comment. */
export const commentForm = (customId: string, title: string, label: string): Answer =>
  form(customId, title, [{ name: COMMENT, label, required: true, multiline: true }]);
