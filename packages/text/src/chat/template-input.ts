/** The input of a template, with the names that Hugging Face templates use. */
export interface TemplateInput {
  readonly messages: readonly unknown[];
  readonly tools: readonly unknown[] | null;
  readonly add_generation_prompt: boolean;
  readonly enable_thinking: boolean;
  readonly preserve_thinking: boolean;
}
