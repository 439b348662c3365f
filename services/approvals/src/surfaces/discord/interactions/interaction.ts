import { z } from 'zod';

const Snowflake = z.string().regex(/^\d{1,20}$/);
const User = z.object({ id: Snowflake });

/** Each text is inside a label, or, in older modals, inside a row. */
const Input = z.object({ custom_id: z.string(), value: z.string().max(10_000) });
const Part = z.union([
  z.object({ component: Input }).transform(({ component }) => [component]),
  z.object({ components: z.array(Input) }).transform(({ components }) => components),
]);

const pressed = {
  id: Snowflake,
  /** `member` inside a server, `user` elsewhere. */
  member: z.object({ user: User }).optional(),
  user: User.optional(),
  message: z.object({ id: Snowflake }).optional(),
};

/** Discord's interactions: ping, button, and submitted form. */
export const Interaction = z.discriminatedUnion('type', [
  z.object({ type: z.literal(1) }),
  z.object({ type: z.literal(3), ...pressed, data: z.object({ custom_id: z.string() }) }),
  z.object({
    type: z.literal(5),
    ...pressed,
    data: z.object({
      custom_id: z.string(),
      components: z.array(Part).transform((parts) => parts.flat()),
    }),
  }),
]);
export type Interaction = z.infer<typeof Interaction>;
export type UserInteraction = Exclude<Interaction, { type: 1 }>;

/** Name of the comment field. */
export const COMMENT = 'comment';

export const userOf = ({ member, user }: UserInteraction): string | undefined => (member?.user ?? user)?.id;

/** Submitted texts by field name. */
export const textsOf = (pressed: UserInteraction): ReadonlyMap<string, string> =>
  new Map(
    pressed.type === 5
      ? pressed.data.components.map(({ custom_id: name, value }) => [name, value] as const)
      : [],
  );
