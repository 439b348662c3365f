/** Discord's limit for one field. */
const TEXT_MAX = 4_000;

/** A text field of a form. Label, description and placeholder are plain text within Discord's limits. */
export type FormText = {
  readonly name: string;
  readonly label: string;
  readonly description?: string | undefined;
  readonly placeholder?: string | undefined;
  readonly required: boolean;
  readonly multiline: boolean;
  readonly maxLength?: number | undefined;
};

/** Discord's limit of fields in one form. */
export const FORM_TEXTS_MAX = 5;

/** The field in Discord's format. */
export const formPart = (text: FormText): object => ({
  type: 18,
  label: text.label,
  ...(text.description !== undefined && { description: text.description }),
  component: {
    type: 4,
    custom_id: text.name,
    style: text.multiline ? 2 : 1,
    required: text.required,
    ...(text.required && { min_length: 1 }),
    max_length: Math.min(text.maxLength ?? TEXT_MAX, TEXT_MAX),
    ...(text.placeholder !== undefined && { placeholder: text.placeholder }),
  },
});
