/** What Discord lets a person write into one field. */
const TEXT_MAX = 4_000;

/** One text of a form, as Discord has it. Label, description and placeholder are plain, and within its limits. */
export type FormText = {
  readonly name: string;
  readonly label: string;
  readonly description?: string | undefined;
  readonly placeholder?: string | undefined;
  readonly required: boolean;
  readonly multiline: boolean;
  readonly maxLength?: number | undefined;
};

/** What Discord shows in one form. */
export const FORM_TEXTS_MAX = 5;

/** The same as a part of the form. */
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
