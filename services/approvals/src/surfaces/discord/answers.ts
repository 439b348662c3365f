import { COMMENT } from './interaction.ts';
import { type Message, NO_MENTIONS } from './message.ts';

/** What an interaction is answered with, as Discord has it. */
export type Answer = { readonly type: number; readonly data?: object };

const [PONG, REPLY, UPDATE, MODAL] = [1, 4, 7, 9];
const EPHEMERAL = 64;
/** What Discord lets a person write into one field. */
const COMMENT_MAX = 4_000;

export const pong: Answer = { type: PONG };

/** Only whoever pressed sees it. `text` is Discord's markup. */
export const whisper = (text: string): Answer => ({
  type: REPLY,
  data: { content: text, flags: EPHEMERAL, allowed_mentions: NO_MENTIONS },
});

/** The message that was pressed on becomes this one. */
export const update = (message: Message): Answer => ({ type: UPDATE, data: message });

/** A form with one text. `title` and `label` are plain: 45 characters at the most. */
export const form = (customId: string, title: string, label: string): Answer => ({
  type: MODAL,
  data: {
    custom_id: customId,
    title,
    components: [
      {
        type: 18,
        label,
        component: {
          type: 4,
          custom_id: COMMENT,
          style: 2,
          required: true,
          min_length: 1,
          max_length: COMMENT_MAX,
        },
      },
    ],
  },
});
