"""A stand-in for SGLang's kernels for the CPU, which no registry has, so that a small model runs in its engine.

On a CPU without AMX a Llama model calls none of them. Any name can be imported, and raises when it is called. Those
that drafts of n-grams call are written in torch, as SGLang's call sites describe them, for chains of drafts.
"""

import ctypes

import torch


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)

    def missing(*arguments, **options):
        raise NotImplementedError(f"the stand-in of sgl_kernel has no {name}")

    return missing


def reconstruct_indices_from_tree_mask(
    tree_mask, verified_seq_len, positions, retrieve_index, retrieve_next_token, retrieve_next_sibling, batch, drafts
):
    masks = tree_mask.view(batch, drafts, drafts)
    for row, mask in enumerate(masks):
        ancestors = [[other for other in range(draft) if mask[draft, other]] for draft in range(drafts)]
        parents = [known[-1] if known else -1 for known in ancestors]
        for draft in range(drafts):
            later = range(draft + 1, drafts)
            positions[row * drafts + draft] = len(ancestors[draft]) + int(verified_seq_len[row])
            retrieve_index[row, draft] = row * drafts + draft
            retrieve_next_token[row, draft] = next((other for other in later if draft in ancestors[other]), -1)
            siblings = (other for other in later if parents[other] == parents[draft] >= 0)
            retrieve_next_sibling[row, draft] = next(siblings, -1)


def assign_extend_cache_locs_cpu(requests, request_to_token, start, end, out, pool_length):
    parts = [request_to_token[int(row), int(first):int(last)] for row, first, last in zip(requests, start, end)]
    found = torch.cat(parts).to(out.dtype)
    out[: found.numel()] = found


def assign_req_to_token_pool_cpu(requests, request_to_token, start, end, locations, pool_length):
    taken = 0
    for row, first, last in zip(requests.tolist(), start.tolist(), end.tolist()):
        request_to_token[row, first:last] = locations[taken : taken + last - first].to(request_to_token.dtype)
        taken += last - first


def fill_accept_out_cache_loc_cpu(accept_index, locations, accepted):
    index = accept_index.flatten()
    index = index[index >= 0].long()
    accepted[: index.numel()] = locations[index]


def fill_bonus_tokens_cpu(tokens, lengths, bonus, stride):
    for row, length in enumerate(lengths.tolist()):
        bonus[row] = tokens.flatten()[stride * row + length - 1]


def copy_all_layer_kv_cache_cpu(addresses, strides, to, source):
    for address, stride in zip(addresses.tolist(), strides.tolist()):
        rows = [ctypes.string_at(address + place * stride, stride) for place in source.tolist()]
        for place, row in zip(to.tolist(), rows):
            ctypes.memmove(address + place * stride, row, stride)


def verify_tree_greedy_cpu(
    predicts,
    accept_index,
    accept_token_num,
    candidates,
    retrive_index,
    retrive_next_token,
    retrive_next_sibling,
    target_predict,
):
    # The names are those that the call site passes.
    target = target_predict.flatten()
    for row in range(candidates.shape[0]):
        last, taken, draft = int(retrive_index[row, 0]), 0, 0
        accept_index[row, 0] = last
        for _ in range(1, accept_index.shape[1]):
            draft = int(retrive_next_token[row, draft])
            while draft != -1 and int(candidates[row, draft]) != int(target[last]):
                draft = int(retrive_next_sibling[row, draft])
            if draft == -1:
                break
            predicts[last] = target[last]
            taken += 1
            last = int(retrive_index[row, draft])
            accept_index[row, taken] = last
        accept_token_num[row] = taken
        predicts[last] = target[last]
