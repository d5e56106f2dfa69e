/** The repository whose snapshot a folder in the Hugging Face cache is; null for any other folder. */
export function repositoryOf(
  folder: string,
): { readonly organisation: string; readonly name: string } | null {
  const [, organisation, name] =
    /models--([^\\/]+?)--([^\\/]+)[\\/]snapshots[\\/][0-9a-f]+[\\/]?$/.exec(folder) ?? [];
  return organisation === undefined || name === undefined ? null : { organisation, name };
}
