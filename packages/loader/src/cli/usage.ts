/** Help text of the command line. */
export const USAGE = `markbase-loader: inspect, check and convert Gemma 4 checkpoints

  markbase-loader inspect PATH        what a checkpoint or a file holds, and the memory it takes
      PATH                            folder, cache folder, .safetensors file, or org/name on the hub
      --tensors                       list every tensor
      --memory SIZE                   say whether it fits, and with how long a context: 16GB, 24GiB
      --context N  --sequences N      how it will be loaded; 8192 and 1
      --precision fast|high           keys and values in bfloat16 (fast) or float32
      --revision NAME                 branch, tag or commit of org/name
  markbase-loader validate PATH       check config, headers, and every tensor that the decoder needs
      --values                        read all values and look for NaN and infinity
  markbase-loader diff A B            compare two checkpoints or two files
      --headers                       compare only dtypes and shapes
  markbase-loader convert FROM TO     the MLX layout with quantised matrices, best from plain weights
      --mode affine|mxfp4|mxfp8|nvfp4  general format; affine
      --bits N  --group-size N        of affine codes; 4 and 64
      --rule PATTERN=skip|MODE|BITS|BITS/GROUP   an exception, repeatable; the first match applies
      --towers keep|quantize          encoders; keep
      --max-shard-size SIZE           5GiB
      --resume                        continue where an interrupted conversion stopped
  markbase-loader shard FROM TO       write the weights into files of another size
      --max-shard-size SIZE           5GiB
  markbase-loader download ORG/NAME   into the cache that Hugging Face tools share
      --revision NAME  --cache-dir DIR  --offline

  --json    print the result as JSON        --help    this text        --version

Status: 0 = done, 1 = the checkpoint is not valid, or the two are different, 2 = it failed.
`;
