#pragma once

/** Parameters of begin_step; the including file has embed_params.h and rope_table_params.h. */
struct BeginStepParams {
  EmbedParams embed[2];      ///< vocabulary 0: absent
  RopeTableParams table[2];  ///< pairs 0: absent
  uint32_t end[4];           ///< cumulative numbers of threadgroups: both embeds, then both tables
};
static_assert(sizeof(BeginStepParams) == 104, "host and kernel disagree on BeginStepParams");
